/** Of every row of a table, px: `--row` of `tokens.css`. */
export const rowHeight = 32;
