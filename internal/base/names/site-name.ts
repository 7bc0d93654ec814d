/** The label of a peel that names its site. */
export const siteLabel = "site";

const pattern = /^[a-z][a-z0-9-]{0,31}$/;

/** Whether a text can name a site: it is a token of subjects, and a part of file names. */
export const isSiteName = (text: string): boolean => pattern.test(text);
