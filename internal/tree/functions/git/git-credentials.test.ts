import { expect, test } from "bun:test";
import { remoteOf } from "./git-credentials.ts";

test.each([
  ["https://app:p%40ss@git.example.com/a.git", "https://git.example.com/a.git", "app", "p@ss"],
  ["https://token@git.example.com:8443/a", "https://git.example.com:8443/a", "token", ""],
  ["http://app:50%@git.example.com/a@b", "http://git.example.com/a@b", "app", "50%"],
])("%s has no credentials in its URL and options", (written, url, username, password) => {
  const remote = remoteOf(written);
  expect(remote.url).toBe(url);
  expect(remote.env).toEqual({ SVC_GIT_USERNAME: username, SVC_GIT_PASSWORD: password });
  const host = url.split("/").slice(0, 3).join("/");
  expect(remote.options[1]).toBe(`credential.${host}.helper=`);
  if (password !== "") expect(remote.options.join(" ")).not.toContain(password);
});

test.each([
  "ssh://git@example.com/a",
  "git@example.com:a",
  "/srv/a",
  "https://example.com/a@b",
  "file:///srv/a@b",
])("%s is left as it is", (url) => {
  expect(remoteOf(url)).toEqual({ url, options: [], env: {} });
});

test("credentials that are given are used for http alone, before those of the URL", () => {
  const given = { https_user: "app", https_pass: "p4ss" };
  for (const url of ["https://git.example.com/a", "https://other:x@git.example.com/a"]) {
    const { env, ...remote } = remoteOf(url, given);
    expect(env).toEqual({ SVC_GIT_USERNAME: "app", SVC_GIT_PASSWORD: "p4ss" });
    expect(remote.url).toBe("https://git.example.com/a");
    expect(JSON.stringify(remote)).not.toContain("p4ss");
  }
  expect(remoteOf("git@example.com:a", given).env).toEqual({});
});

test("a line break cannot be a second value", () => {
  expect(() => remoteOf("https://app:a%0Aurl=x@example.com/a")).toThrow("must not contain a line break");
});
