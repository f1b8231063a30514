"""What a picture is made of, found in its Axes."""

from matplotlib.patches import Rectangle


def all_of(ax, kind):
    """The artists of exactly this kind."""
    return [artist for artist in ax.get_children() if type(artist) is kind]


def bars(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def component_lines(ax):
    """The curves of the components: the lines that are not dashed."""
    return [line for line in ax.lines if line.get_linestyle() == "-"]


def note_of(ax):
    return " ".join(text.get_text() for text in ax.texts)
