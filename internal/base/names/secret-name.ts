/** Names of values that are not shown: what is stored under them is nearly always a secret. */
const secretName =
  /passw(?:or)?d|passphrase|passcode|secret|token|credential|(?:private|api|access|auth|encryption|signing|ssh|ssl|tls|host)[_-]?key|(?:^|[_.-])(?:pwd|psk|pin|seed|salt|key|keys|auth)$/i;

/** Whether a value with this name is masked wherever values are shown. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}
