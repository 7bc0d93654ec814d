import { authorityExtensions, companyAuthority } from "./company-authority.ts";

/** The public area of an attestation key, as a TPM wrote it. */
const area =
  "00580023000b00050072000000100018000b00030010002005782d950ecae4b5af6ea562d4c46d81a80fbb881d02f3d764426d5249b1b7100020d104bd56c3c28744db29b5282376e6f1424da0b914968efed32d85a8a6e46f85";

/** What a TPM says of itself, with a certificate of a maker: enough to be asked, and not to answer. */
export function writtenTpm(dir: string) {
  const { issue } = companyAuthority(dir);
  const maker = issue({ subject: "/CN=Maker", extensions: authorityExtensions });
  const { pem } = issue({
    by: maker,
    extensions: ["keyUsage=keyAgreement", "extendedKeyUsage=2.23.133.8.1"],
  });
  return {
    makerFile: maker.cert,
    keys: {
      ek_certificate: pem.replace(/-----.*-----|\s/g, ""),
      ak_public: Buffer.from(area, "hex").toString("base64"),
    },
  };
}
