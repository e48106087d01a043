/** The node's certificate and key, read once: a mismatch fails the start instead of the clients. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { CarillonError } from '@carillon/contract'
import type { TlsSettings } from '../config/serve-config.ts'

export interface TlsFiles {
  cert: string
  key: string
}

export async function readTls({ certFile, keyFile }: TlsSettings): Promise<TlsFiles> {
  const cert = await read('certFile', certFile)
  const key = await read('keyFile', keyFile)
  const certificate = attempt('certFile', certFile, 'a certificate', () => new X509Certificate(cert))
  const privateKey = attempt('keyFile', keyFile, 'a private key without a password', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) {
    throw invalid('keyFile', `${keyFile} is not the key of the certificate in ${certFile}`)
  }
  return { cert, key }
}

async function read(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw invalid(setting, `${file} cannot be read (${(error as { code?: string }).code})`, error)
  }
}

function attempt<T>(setting: string, file: string, what: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw invalid(setting, `${file} does not hold ${what} as PEM`, error)
  }
}

function invalid(setting: string, message: string, cause?: unknown): CarillonError {
  return new CarillonError(
    'CONFIG_INVALID',
    { pointer: `/tls/${setting}`, message: `tls/${setting}: ${message}` },
    { cause },
  )
}
