"""Networks of the zoo whose every operator is an integer one once they are quantised."""

INTEGER = (
    "alexnet",
    "darknet19",
    "densenet121",
    "inception_v3",
    "mobilenetv2",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext50",
    "squeezenet",
    "squeezenet1_1",
    "vgg16",
    "yolov2",
)
LEAST_SIZE = {"alexnet": 64, "inception_v3": 80}
"""Height and width of the smallest images for which a test may ask [pixel], where not 32."""
