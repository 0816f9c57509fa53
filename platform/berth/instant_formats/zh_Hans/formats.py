"""The same days and instants in Chinese: columns of figures are written alike in both languages."""

DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i"
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%Y/%m/%d"]
TIME_INPUT_FORMATS = ["%H:%M:%S", "%H:%M"]
"""Django's own begin without seconds: a form that is saved unchanged would cut them off."""
