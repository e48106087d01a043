import type { Logger } from '@carillon/contract/process'

/** The default logger: warnings and errors go to the console, the rest is dropped. */
export const consoleLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (fields, message) => console.warn(`carillon: ${message}`, fields),
  error: (fields, message) => console.error(`carillon: ${message}`, fields),
}
