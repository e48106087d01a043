import { readFile } from 'node:fs/promises'
import { CarillonError } from '@carillon/contract'

/** PEM files that the URL of a server names. */
export interface TlsFiles {
  /** Of what signs the server's certificate; the certificates that Node trusts unless given. */
  ca?: string
  cert?: string
  key?: string
}

export type TlsSecrets = { [Name in keyof TlsFiles]: Buffer }

/** Throws CONFIG_INVALID for a file that cannot be read. */
export async function readTlsFiles(files: TlsFiles): Promise<TlsSecrets> {
  const secrets: TlsSecrets = {}
  for (const name of ['ca', 'cert', 'key'] as const) {
    const path = files[name]
    if (path !== undefined) secrets[name] = await readPem(name, path)
  }
  return secrets
}

async function readPem(name: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new CarillonError(
      'CONFIG_INVALID',
      {
        message: `${name}=${path} cannot be read (${code})`,
        hint: 'Name a PEM file that this node can read in the URL of the server',
      },
      { cause },
    )
  }
}
