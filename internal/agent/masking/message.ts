/** A URL with something between the scheme and the host, or behind a question mark. */
const url =
  /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^/\s@?#"'<>]*@)?([^\s?#"'<>]*)(?:\?(?:[^\s#"'<>]*[^\s#"'<>:,.;)\]])?)?/gi;

/** A message whose URLs have no user, password or query. */
export function withoutUrlSecrets(message: string): string {
  return message.includes("://") ? message.replace(url, "$1$2") : message;
}
