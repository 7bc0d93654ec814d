/** How a new token is printed. */
export const formats = ["text", "cloud-init", "command", "json"] as const;

/** @param word the token: base64url and a dot, so no shell and no YAML changes it */
export function formatToken(format: (typeof formats)[number], word: string, data: object): string {
  switch (format) {
    case "text":
      return word;
    case "command":
      // printf is a part of the shell: the token is not an argument of a process.
      return `printf '%s\\n' '${word}' | sudo svc-peel join --token-file -`;
    case "cloud-init":
      return cloudInit(word);
    case "json":
      return JSON.stringify(data, null, 2);
  }
}

/** User data: the host joins at its first boot, and the token is removed when it has. */
function cloudInit(word: string): string {
  return [
    "#cloud-config",
    "write_files:",
    "  - path: /etc/svc/join-token",
    "    owner: root:root",
    '    permissions: "0600"',
    "    content: |",
    `      ${word}`,
    "runcmd:",
    "  - |",
    "    svc-peel join --once --token-file /etc/svc/join-token &&",
    "    rm -f /etc/svc/join-token &&",
    "    systemctl enable --now svc-peel.service",
  ].join("\n");
}
