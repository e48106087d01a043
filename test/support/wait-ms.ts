/** How long a browser test waits for one thing: no test waits this long unless it fails, not even on a loaded machine. */
export const waitMs = 60_000
