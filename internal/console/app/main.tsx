import "../kit/tokens.css";
import "../kit/base.css";
import "../kit/table.css";
import "../kit/charts.css";
import "./shell.css";
import { render } from "preact";
import { systemClock } from "../../base/clock.ts";
import { startConsole } from "./start.tsx";

const root = document.getElementById("console");
if (root !== null) render(startConsole(window, systemClock), root);
