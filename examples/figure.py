"""The paper's figures for a picture of your own: ellipses, segmentation, sample, posterior mean, Voronoi diagram.

Needs the extra `image`: pip install '.[image]' && python examples/figure.py PICTURE [figure.jpg] [components]
"""

import sys

from kmle.images import ImageMixture, contact_sheet, panels, read_image, save_image


def main(path: str, target: str = "figure.jpg", components: str = "32") -> None:
    image = read_image(path)
    model = ImageMixture.fit(image, int(components))
    for note in model.notes:
        print(note)
    save_image(target, contact_sheet(panels(model, image), cell=320))
    print(f"{model.n_components} components, {model.score(image):.3f} nats a pixel; wrote {target}")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
