"""Run keryx as `python -m keryx_py`."""

from keryx_py.cli.app import main

if __name__ == "__main__":
    main()
