export { peelsPage } from "./peels.tsx";
