import { expect, test } from "bun:test";
import { isSecretName } from "./secret-name.ts";

test.each([
  ...[
    "password",
    "db_passwd",
    "rootPassword",
    "passphrase",
    "client_secret",
    "secrets",
    "token",
    "api_token",
  ],
  ...["credentials", "private_key", "privateKey", "apikey", "api-key", "ssh_key", "tls-key", "key", "psk"],
  ...["wifi_psk", "seed", "pwd", "access_key", "SECRET", "auth"],
])("%s is the name of a secret", (name) => expect(isSecretName(name)).toBe(true));

test.each([
  "port",
  "user",
  "keyboard",
  "keys_dir",
  "monkey",
  "author",
  "pinned",
  "public",
  "hosts",
  "passive",
])("%s is not", (name) => expect(isSecretName(name)).toBe(false));
