import { dataDirectory, readCredentials } from './data-directory.ts'
import { DATABASE, urlOf } from './database.ts'
import { instanceSetting, readPostmasterFile } from './predecessor.ts'
import { commandOf } from './processes.ts'

/** The URL of the server that runs on a data directory, or null if none does. Starts and claims nothing. */
export async function attachEmbeddedPostgres(dataDir: string): Promise<string | null> {
  const directory = dataDirectory(dataDir)
  const file = await readPostmasterFile(directory)
  if (file?.status !== 'ready') return null
  const { password, instance } = await readCredentials(directory)
  const [setting] = Object.entries(instanceSetting(instance)).map(([name, value]) => `${name}=${value}`)
  const words = await commandOf(file.pid)
  return words?.includes(setting!) ? urlOf({ port: file.port, password }, DATABASE) : null
}
