/** Connections that never become a request: malformed HTTP, headers too large, too slow. They get an error and are closed. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { CarillonError, type ErrorCode, errorTable } from '@carillon/contract'
import { problemOf, problemType } from './problem.ts'

const known: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
}

export function refuseConnection({ code: cause = '' }: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || cause === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const code = known[cause] ?? 'BODY_MALFORMED'
  const problem = new CarillonError(code, cause in known ? errorTable[code].title : 'this is not HTTP/1.1')
  const text = JSON.stringify(problemOf(problem))
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nConnection: close\r\n` +
      `Content-Type: ${problemType}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}
