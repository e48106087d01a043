/**
 * Why etcd cannot be reached, for people. The client says no more than that there is no connection when a certificate is refused, or
 * when one side speaks TLS and the other does not: so one connection is made without it.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { readTlsFiles, type TlsFiles } from '../lib/tls-files.ts'

/** What an HTTP/2 client sends first. */
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'
const waitMs = 3_000
/** The first byte of an alert of TLS. */
const tlsAlert = 0x15

/** Of the first host for which there is a reason; null: none was found. */
export async function reasonUnreachable(place: { hosts: string[]; tls: TlsFiles | null }): Promise<string | null> {
  const secrets = place.tls === null ? {} : await readTlsFiles(place.tls)
  for (const each of place.hosts) {
    const { hostname: host, port, host: name } = new URL(each)
    const to = { host, port: Number(port) }
    const socket =
      place.tls === null ? connectTcp(to) : connectTls({ ...to, ...secrets, servername: host, ALPNProtocols: ['h2'] })
    const reason = await reasonOf(socket, place.tls !== null)
    if (reason !== null) return `${name}: ${reason}`
  }
  return null
}

const speaksTls = 'it closes the connection; if it speaks TLS, give etcds:// and `ca`'

function wordsOf(message: string, isOpen: boolean): string {
  if (isOpen && message.includes('alert')) return `${message}; does it want a certificate, \`cert\` and \`key\`?`
  return /disconnected before secure|wrong version/.test(message) ? `${message}; does it speak TLS?` : message
}

function reasonOf(socket: Socket, secure: boolean): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  let isOpen = false
  socket.once(secure ? 'secureConnect' : 'connect', () => {
    isOpen = true
    // A server that wants the certificate of its client says so only now.
    socket.write(preface, 'latin1')
  })
  socket.once('data', (bytes: Buffer) => resolve(!secure && bytes[0] === tlsAlert ? speaksTls : null))
  // What OpenSSL says has a reason of a few words.
  socket.once('error', (error: Error & { reason?: string }) => resolve(wordsOf(error.reason ?? error.message, isOpen)))
  socket.once('close', () => resolve(secure ? 'it closes the connection' : speaksTls))
  socket.setTimeout(waitMs, () => resolve(`no answer within ${waitMs} ms`))
  return promise.finally(() => socket.destroy())
}
