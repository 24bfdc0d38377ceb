"""What the commands do, once their options are read: here the heavy libraries are imported."""
