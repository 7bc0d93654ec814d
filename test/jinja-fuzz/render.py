"""Renders templates with Jinja, and prints what comes of each. Reads {context, files, templates, salt} as JSON."""

import json
import logging
import sys
import warnings

import jinja2

# Jinja makes Python of a template, and Python warns of what such a template does.
warnings.simplefilter("ignore", SyntaxWarning)
# Salt logs what its filters refuse.
logging.disable(logging.CRITICAL)
asked = json.load(sys.stdin)
environment = jinja2.Environment(
    undefined=jinja2.StrictUndefined,
    extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
    loader=jinja2.DictLoader(asked["files"]),
    cache_size=0,
)
if asked["salt"]:
    import salt.utils.data, salt.utils.hashutils, salt.utils.jinja, salt.utils.network, salt.utils.path
    import salt.utils.stringutils, salt.utils.files, salt.utils.dateutils
    from salt.utils.decorators.jinja import JinjaFilter, JinjaTest

    environment.add_extension(salt.utils.jinja.SerializerExtension)
    environment.filters.update(JinjaFilter.salt_jinja_filters)
    environment.filters["tojson"] = salt.utils.jinja.tojson
    environment.tests.update(JinjaTest.salt_jinja_tests)


def render(text):
    # What the template changes must not reach the next one.
    # As in Salt, variables are there without context as well.
    environment.globals.update(json.loads(json.dumps(asked["context"])))
    try:
        return environment.from_string(text).render(), None
    except Exception as error:  # whatever it is, the template fails
        return None, "%s: %s" % (type(error).__name__, error)


print(json.dumps({"jinja": jinja2.__version__, "results": [render(text) for text in asked["templates"]]}))
