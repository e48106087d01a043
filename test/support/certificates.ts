/** Certificates for servers on loopback, made with `openssl` in a folder that is removed at the end. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificate {
  /** PEM files. */
  cert: string
  key: string
}

export interface Certificates {
  folder: string
  /** Signs `server` and `client`. */
  ca: string
  server: Certificate
  client: Certificate
  /** Signs nothing that a server has. */
  otherCa: string
  remove(): void
}

export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-certificates-'))
  const make = (name: string, commonName: string, more: string[]): Certificate => {
    const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)]
    const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${commonName}`]
    execFileSync('openssl', [...args, '-keyout', key, '-out', cert, ...more], { stdio: 'pipe' })
    return { cert, key }
  }
  const ca = make('ca', 'Carillon test CA', [])
  const other = make('other-ca', 'Another CA', [])
  // `openssl req` signs with another certificate only from version 3 on.
  const signed = (name: string, commonName: string): Certificate => {
    const { key } = make(name, commonName, [])
    const [request, extensions, cert] = ['csr', 'ext', 'pem'].map((ending) => join(folder, `${name}.${ending}`))
    writeFileSync(extensions!, 'subjectAltName=IP:127.0.0.1,DNS:localhost\n')
    execFileSync('openssl', ['req', '-new', '-key', key, '-subj', `/CN=${commonName}`, '-out', request!])
    execFileSync(
      'openssl',
      ['x509', '-req', '-in', request!, '-CA', ca.cert, '-CAkey', ca.key, '-CAcreateserial', '-days', '2'].concat([
        '-extfile',
        extensions!,
        '-out',
        cert!,
      ]),
      { stdio: 'pipe' },
    )
    return { cert: cert!, key }
  }
  return {
    ...{ folder, ca: ca.cert, server: signed('server', 'localhost'), client: signed('client', 'carillon') },
    otherCa: other.cert,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
