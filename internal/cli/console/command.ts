import { command, flag, value } from "../../program/command-line/mod.ts";

export const consoleCommand = command({
  name: "console",
  description:
    "Sign in to the console: print a link that is good once and for 60 s, and open it in a browser.",
  examples: ["svc console", "svc console --no-open", "svc console --url https://master-2.example.com:8443"],
  args: {
    url: value(
      "url",
      "Address of a master, as the browser reaches it; absent means enroll.advertise_urls of the masters",
    ),
    "no-open": flag("Only print the link"),
  },
  async run({ url, "no-open": onlyPrint }, cli) {
    const { openConsole } = await import("./open-console.ts");
    await openConsole({ url, opens: onlyPrint !== true }, cli);
  },
});
