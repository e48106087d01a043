import type { Logger } from '@carillon/contract/process'

/** The default: trouble goes to the console, everything else is not said. */
export const consoleLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (fields, message) => console.warn(`carillon: ${message}`, fields),
  error: (fields, message) => console.error(`carillon: ${message}`, fields),
}
