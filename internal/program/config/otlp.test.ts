import { expect, test } from "bun:test";
import { valueOfFlag } from "./flags.ts";
import { otlpOptions } from "./otlp.ts";

const endpoint = (text: string) => valueOfFlag(otlpOptions["otlp.endpoint"].type, [text]);
const sample = (text: string) => valueOfFlag(otlpOptions["otlp.sample"].type, [text]);

test.each([
  "",
  "https://collector.example.com:4318",
  "https://collector.example.com/tenant",
  "http://localhost:4318",
  "http://127.0.0.1:4318",
  "http://[::1]:4318",
])("%p can receive traces", (url) => expect(endpoint(url)).toBe(url));

test.each([
  ["a name", "collector:4318", /expected a URL, such as https:/],
  ["another protocol", "grpc://collector:4317", /expected a URL/],
  ["a password", "https://ann:s3cret@collector", /put a header into otlp\.headers_file/],
  ["a query", "https://collector?token=s3cret", /may not hold a query/],
  ["plain HTTP to another host", "http://collector.example.com:4318", /only https:\/\/ leaves this host/],
  ["plain HTTP to a name that only looks local", "http://localhost.example.com", /only https/],
  ["plain HTTP to an address that only looks local", "http://127.0.0.1.example.com", /only https/],
])("%s cannot, and the message has no secret", (_, url, message) => {
  expect(() => endpoint(url)).toThrow(message);
  expect(() => endpoint(url)).not.toThrow(/s3cret/);
});

test("a sample is a number from 0 to 1", () => {
  expect(["0", "1", "0.001"].map(sample)).toEqual([0, 1, 0.001]);
  for (const text of ["", "-1", "1.1", "2", "1e-3", "10%", "NaN"]) {
    expect(() => sample(text)).toThrow("expected a number from 0 to 1");
  }
});
