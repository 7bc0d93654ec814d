import { expect, test } from "bun:test";
import { maskWords } from "./mask-words.ts";

const seed = `SU${"A".repeat(56)}`;

test.each([
  ["mysql --password=verysecret -h db", "mysql --password=*** -h db"],
  ["mysql --password 'very secret' -h db", "mysql --password *** -h db"],
  ["mysql,--password,verysecret,-h", "mysql,--password,***,-h"],
  ["export API_TOKEN=abc; run", "export API_TOKEN=***; run"],
  ["a=1 DB_PASSWORD=x b=2", "a=1 DB_PASSWORD=*** b=2"],
  ["name=token=x a", "name=token=*** a"],
  ["{user: web, password: x}", "{user: web, password: ***"],
  ["curl -H 'Authorization: Bearer abc.def' https://a", "curl -H 'Authorization: Bearer ***' https://a"],
  ["git clone https://ann:pw@git.example.com/a", "git clone https://ann:***@git.example.com/a"],
  [`echo ${seed}`, "echo [redacted]"],
  ["echo -----BEGIN RSA PRIVATE KEY----- MIIE", "echo ***"],
])("%s is masked", (text, shown) => {
  expect(maskWords(text)).toBe(shown);
});

test.each([
  "nginx -t && systemctl reload nginx",
  "apt-key add file",
  "app:password",
  "name=nginx enable=true",
  "--token --quiet",
  "service.restart name=token-server",
  "https://web-1.example.com:8443/a@b",
  "key file",
])("%s is not", (text) => {
  expect(maskWords(text)).toBe(text);
});
