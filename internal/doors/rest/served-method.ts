const servedMethods = ["GET", "POST", "PUT", "DELETE"] as const;

/** Some methods cannot be represented by a Request, and no route has them. */
export function isServedMethod(method: string): method is (typeof servedMethods)[number] {
  return servedMethods.some((each) => each === method);
}
