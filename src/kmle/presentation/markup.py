"""Text that is safe in HTML, and elements."""

import html


def text(value: object) -> str:
    """Anything as text of an element or of an attribute.

    >>> text("a<b")
    'a&lt;b'
    """
    return html.escape(str(value), quote=True)


def element(tag: str, *content: str, **attributes: object) -> str:
    """<tag attributes>content</tag>; content is markup already, attributes are escaped (class_ is class).

    >>> element("p", "a &amp; b", class_="note")
    '<p class="note">a &amp; b</p>'
    """
    written = "".join(f' {name.rstrip("_").replace("_", "-")}="{text(value)}"' for name, value in attributes.items())
    return f"<{tag}{written}>{''.join(content)}</{tag}>"
