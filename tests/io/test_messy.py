"""Files as people have them: headers, encodings, grouped digits, dates, money, categories, Excel, JSON lines."""

import zipfile

import numpy as np
import pytest

from kmle.io import open_stream, read_table
from kmle.io.text import TextOptions


def refused(function, *arguments, **options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (what it says is the point)
        function(*arguments, **options)
    return str(caught.value)


def file(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


# Headers and separators -----------------------------------------------------------------------------------------------


def test_numeric_names_are_data_unless_they_are_called_names(tmp_path):
    path = file(tmp_path, "2019,2020\n1,2\n3,4\n")
    found = read_table(path)
    assert len(found) == 3
    assert "with --header the first line names them" in found.notes[0]
    message = read_table(path, text=TextOptions(has_header=True))
    assert message.columns == ("2019", "2020")
    assert message.rows.tolist() == [[1, 2], [3, 4]]
    assert [len(batch) for batch in open_stream(path, text=TextOptions(has_header=True))] == [2]


def test_a_first_line_with_a_gap_is_data_where_it_is_said_so(tmp_path):
    path = file(tmp_path, "NA,2\n3,4\n")
    assert read_table(path, drop_missing=True, text=TextOptions(has_header=False)).rows.tolist() == [[3, 4]]


@pytest.mark.parametrize("mark", [";", "tab", "|", "space", ":", "~"])
def test_separators(tmp_path, mark):
    sign = {"tab": "\t", "space": " "}.get(mark, mark)
    path = file(tmp_path, f"a{sign}b\n1.5{sign}2\n3{sign}4\n")
    assert read_table(path, text=TextOptions(separator=mark)).rows.tolist() == [[1.5, 2], [3, 4]]


def test_bad_marks_are_refused():
    assert "--separator is 'ab'" in refused(TextOptions, separator="ab")
    assert "--separator is '\"'" in refused(TextOptions, separator='"')
    assert "--thousands is 'x'" in refused(TextOptions, thousands="x")


# Encodings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_marked_encodings_are_read(tmp_path, encoding):
    table = read_table(file(tmp_path, "größe,b\n1,2\n3,4\n".encode(encoding)))
    assert table.columns == ("größe", "b")
    assert table.rows.tolist() == [[1, 2], [3, 4]]
    assert any(encoding.upper() in note for note in table.notes) is (encoding != "utf-8-sig")


def test_latin_1_is_read_and_told(tmp_path):
    table = read_table(file(tmp_path, "größe,b\n1,2\n3,4\n".encode("latin-1")))
    assert table.columns == ("größe", "b")
    assert "is not UTF-8 and is read as windows-1252 (--encoding sets another)" in table.notes[0]
    assert read_table(table.source, text=TextOptions(encoding="latin-1")).notes == ()


def test_encodings_by_name(tmp_path):
    text = "größe,b\n" + "1,2\n" * 200_000
    for encoding in ("utf-16-le", "utf-16-be", "cp1252", "utf-8"):
        path = file(tmp_path, text.encode(encoding))
        table = read_table(path, text=TextOptions(encoding=encoding))
        assert table.columns == ("größe", "b")
        assert len(table) == 200_000
        stream = open_stream(path, text=TextOptions(encoding=encoding))
        assert sum(len(batch) for batch in stream) == 200_000
    wide = file(tmp_path, "a,b\n1,2\n".encode("utf-16-le"))
    assert "looks like UTF-16-LE text without a byte-order mark: use --encoding utf-16-le" in refused(read_table, wide)
    assert "--encoding klingon is unknown" in refused(read_table, wide, text=TextOptions(encoding="klingon"))
    assert "is not utf-16 text" in refused(
        read_table, file(tmp_path, b"a,b\n1\n2"), text=TextOptions(encoding="utf-16")
    )


def test_other_signs_far_down_are_told_with_their_line(tmp_path):
    content = b"a,name\n" + b"1,x\n" * 100_000 + b"2,gr\xf6\xdfe\nq,x\n"
    assert "line 100002 is not UTF-8 text" in refused(read_table, file(tmp_path, content), columns=["a"])


# Numbers that are written for people ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "mark", "separator"),
    [
        ('a,b\n"1,250,000.5","2"\n"3","4,000"\n', ",", None),
        ("a;b\n1.250.000,5;2\n3;4.000\n", ".", None),
        ("a;b\n1'250'000.5;2\n3;4'000\n", "'", None),
        ("a;b\n1 250 000,5;2\n3;4 000\n", "space", None),
        ("a;b\n1\u00a0250\u00a0000,5;2\n3;4\u202f000\n", " ", None),
    ],
)
def test_grouped_digits(tmp_path, content, mark, separator):
    options = TextOptions(thousands=mark, separator=separator)
    path = file(tmp_path, content)
    assert read_table(path, text=options).rows.tolist() == [[1250000.5, 2], [3, 4000]]
    (batch,) = open_stream(path, text=options)
    assert batch.tolist() == [[1250000.5, 2], [3, 4000]]


KINDS = {
    "dates": (["2024-05-01", "2024-05-02"], "holds dates, not numbers"),
    "other dates": (["01/05/2024", "13/05/2024"], "holds dates, not numbers"),
    "dates and times": (["2024-05-01 10:00", "2024-05-01T11:00"], "holds dates, not numbers"),
    "times": (["10:30", "11:45"], "holds times of day, not numbers"),
    "dollars": (["$5.20", "$1.10"], "holds amounts with a currency sign, not numbers"),
    "euros": (["5.20 €", "1.10 €"], "holds amounts with a currency sign, not numbers"),
    "percentages": (["5%", "7.5 %"], "holds percentages, not numbers"),
    "grouped": (['"1,200"', '"3,400"'], "holds numbers with their digits grouped, not numbers"),
    "text": (["tall", "small"], "read them as categories with --categorical x"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_a_number_is_named(tmp_path, kind):
    cells, words = KINDS[kind]
    path = file(tmp_path, "x,y\n" + "".join(f"{cell},1\n" for cell in cells))
    assert words in refused(read_table, path)
    assert read_table(path, ignore_text=True).columns == ("y",)


def test_one_such_cell_is_named_with_its_line(tmp_path):
    path = file(tmp_path, "x,y\n1,1\n2,1\n$3,1\n")
    assert "row 2 (line 4), column 'x' holds '$3', which is an amount with a currency sign" in refused(read_table, path)


# Categories -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_categories_are_codes_in_the_order_of_their_names(tmp_path, suffix):
    import polars as pl

    frame = pl.DataFrame({"kind": ["red", "blue", "red", "green"], "n": [1, 2, 3, 4]})
    path = tmp_path / f"t.{suffix}"
    (frame.write_csv if suffix == "csv" else frame.write_parquet)(path)
    table = read_table(str(path), categories={"kind": None})
    assert table.categories == {"kind": ("blue", "green", "red")}
    assert table.rows[:, 0].tolist() == [2, 0, 2, 1]
    again = read_table(str(path), categories=table.categories)
    assert again.rows.tolist() == table.rows.tolist()
    (batch,) = open_stream(str(path), categories=table.categories)
    assert batch.tolist() == table.rows.tolist()
    unknown = refused(read_table, str(path), categories={"kind": ("blue", "red")})
    assert "row 3" in unknown
    assert "holds 'green', which is not in the model: its categories are 'blue', 'red'" in unknown
    assert "cannot be combined with --stream" in refused(open_stream, str(path), categories={"kind": None})


def test_gaps_in_categories_are_missing_values(tmp_path):
    path = file(tmp_path, "kind,n\nred,1\n,2\nblue,3\n")
    assert "a value is missing in row 1 (line 3), column 'kind'" in refused(read_table, path, categories={"kind": None})
    table = read_table(path, categories={"kind": None}, drop_missing=True)
    assert table.rows.tolist() == [[1, 1], [0, 3]]
    assert table.row_numbers().tolist() == [0, 2]


def test_numbers_may_be_categories(tmp_path):
    table = read_table(file(tmp_path, "zone,n\n10,1\n9,2\n10,3\n"), categories={"zone": None})
    assert table.categories == {"zone": ("9", "10")}
    assert table.rows[:, 0].tolist() == [1, 0, 1]


# Excel and JSON lines -------------------------------------------------------------------------------------------------


def workbook(path, cells):
    """The smallest file that spreadsheets take for one of theirs."""
    rows = "".join(
        f"<row r='{r + 1}'>"
        + "".join(
            f"<c r='{chr(65 + c)}{r + 1}' t='inlineStr'><is><t>{cell}</t></is></c>"
            if isinstance(cell, str)
            else f"<c r='{chr(65 + c)}{r + 1}'><v>{cell}</v></c>"
            for c, cell in enumerate(row)
        )
        + "</row>"
        for r, row in enumerate(cells)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    content = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f"<Types xmlns='{package}/content-types'><Default Extension='rels' "
        "ContentType='application/vnd.openxmlformats-package.relationships+xml'/><Override PartName='/xl/workbook.xml' "
        f"ContentType='{content}.sheet.main+xml'/><Override PartName='/xl/worksheets/sheet1.xml' "
        f"ContentType='{content}.worksheet+xml'/></Types>",
        "_rels/.rels": f"<Relationships xmlns='{package}/relationships'><Relationship Id='rId1' "
        f"Type='{office}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
        "xl/workbook.xml": f"<workbook xmlns='{main}' xmlns:r='{office}'><sheets><sheet name='one' sheetId='1' "
        "r:id='rId1'/></sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships xmlns='{package}/relationships'><Relationship Id='rId1' "
        f"Type='{office}/worksheet' Target='worksheets/sheet1.xml'/></Relationships>",
        "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{main}'><sheetData>{rows}</sheetData></worksheet>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return str(path)


def test_excel(tmp_path):
    pytest.importorskip("fastexcel")
    path = workbook(tmp_path / "t.xlsx", [["a", "kind", "b"], [1.5, "x", 2], [3, "y", 4]])
    assert read_table(path, ignore_text=True).rows.tolist() == [[1.5, 2], [3, 4]]
    assert read_table(path, categories={"kind": None}).rows.tolist() == [[1.5, 0, 2], [3, 1, 4]]
    assert "is a spreadsheet, which cannot be read in pieces" in refused(open_stream, path)


def test_excel_without_its_engine(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fastexcel", None)
    path = workbook(tmp_path / "t.xlsx", [["a"], [1]])
    with pytest.raises(ModuleNotFoundError, match=r"needs fastexcel: pip install 'kmle\[excel\]', or save it as CSV"):
        read_table(path)


def test_a_damaged_spreadsheet(tmp_path):
    pytest.importorskip("fastexcel")
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<no")
    assert "cannot be read as a spreadsheet" in refused(read_table, str(path))


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.txt"])
def test_json_lines(tmp_path, name):
    path = file(tmp_path, '{"a": 1, "kind": "x"}\n{"a": 2.5, "kind": "y"}\n{"kind": "x"}\n', name)
    table = read_table(path, ["a"], drop_missing=True)
    assert table.rows.ravel().tolist() == [1, 2.5]
    assert read_table(path, ["kind"], categories={"kind": None}).rows.ravel().tolist() == [0, 1, 0]
    assert "is in JSON lines, which cannot be read in pieces" in refused(open_stream, path)


def test_one_json_line_is_a_table_by_its_name_only(tmp_path):
    assert read_table(file(tmp_path, '{"a": 1}\n', "t.jsonl")).rows.tolist() == [[1]]
    assert "looks like JSON, not like a table" in refused(read_table, file(tmp_path, '{"a": 1}\n', "t.json"))
    assert "looks like JSON" in refused(read_table, file(tmp_path, '[{"a": 1},\n {"a": 2}]\n', "t.json"))


def test_bad_json_lines(tmp_path):
    path = file(tmp_path, '{"a": 1}\n{"a": \n', "t.jsonl")
    assert "cannot be read as a table" in refused(read_table, path)


# What is left of a table ----------------------------------------------------------------------------------------------


def test_rows_keep_their_numbers_and_lines(tmp_path):
    path = file(tmp_path, "a,b\n1,2\nNA,3\n5,6\n")
    table = read_table(path, drop_missing=True)
    assert table.row_numbers().tolist() == [0, 2]
    assert table.row_name(1) == "row 2 (line 4)"
    assert table.notes == ("1 of 3 rows with missing values was dropped",)
    assert [part.row_numbers().tolist() for part in open_stream(path, drop_missing=True, batch_rows=1).parts()] == [
        [0],
        [2],
    ]


def test_truth_values_among_gaps(tmp_path):
    path = file(tmp_path, "a,b\ntrue,1\nfalse,NA\ntrue,3\n")
    np.testing.assert_array_equal(read_table(path, ["a"]).rows[:, 0], [1, 0, 1])
    assert read_table(path, drop_missing=True).rows.tolist() == [[1, 1], [1, 3]]
