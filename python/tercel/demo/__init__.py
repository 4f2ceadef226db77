"""A convolutional network that learns handwritten digits: python -m tercel.demo."""
