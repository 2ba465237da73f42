"""A command that plays an agent: it calls the first tool without needed arguments once and answers with the result."""

import json
import sys

for line in sys.stdin:
    asked = json.loads(line)
    mode = sys.argv[1] if len(sys.argv) > 1 else "good"
    if mode == "noise":
        sys.stdout.write("this is no JSON\n")
        sys.stdout.flush()
    elif mode == "dies":
        sys.exit(3)
    elif mode == "silent":
        continue
    else:
        done = [step for step in asked["steps"] if "result" in step and not step["opening"]]
        easy = [t["name"] for t in asked["tools"] if not t["inputSchema"].get("required")]
        if not done and easy:
            said = {"call": {"name": easy[0], "arguments": {}}}
        else:
            said = {"answer": done[-1]["result"]["text"][:200] if done else "I cannot answer."}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
