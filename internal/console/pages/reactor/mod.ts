export { reactorPage } from "./reactor.tsx";
