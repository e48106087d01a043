/** Where a worker writes what its operator should know. A pino logger fits as it is. */
export interface Logger {
  info(fields: Record<string, unknown>, message: string): void
  warn(fields: Record<string, unknown>, message: string): void
  error(fields: Record<string, unknown>, message: string): void
}

/** The default: trouble goes to the console, everything else is not said. */
export const consoleLogger: Logger = {
  info: () => {},
  warn: (fields, message) => console.warn(`carillon: ${message}`, fields),
  error: (fields, message) => console.error(`carillon: ${message}`, fields),
}
