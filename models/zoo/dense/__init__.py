"""Networks that say something about every position of an image: segmentation, detection."""
