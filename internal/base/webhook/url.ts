/**
 * What is wrong with the URL of a webhook. The text is never repeated: it may contain a secret.
 *
 * @param secretOption where a secret belongs instead, for the message
 * @param isPlainAllowed whether `http://` to this host is allowed
 */
export function webhookUrlProblem(
  text: string,
  { secretOption, isPlainAllowed }: { secretOption: string; isPlainAllowed: boolean },
): string | undefined {
  if (!URL.canParse(text)) return "expected a URL, such as https://hooks.example.com/svc";
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return `a URL must not contain a password: use ${secretOption}`;
  if (protocol === "https:") return undefined;
  if (!isPlainAllowed) return "expected https://";
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return protocol === "http:" && isLocal
    ? undefined
    : "expected https://; http:// is only allowed for this host";
}
