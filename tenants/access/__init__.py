"""The doors that the API and the pages of all apps share: who comes in, what they may do, how often.

Import from the modules: Django REST framework loads `authentication` while its own views are still loading.
"""
