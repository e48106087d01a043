/** The HTTP server: listens while the node is up, and answers the requests under way when it stops. */
import type { AddressInfo } from 'node:net'
import { CarillonError } from '@carillon/contract'
import type { FastifyInstance } from 'fastify'
import type { Service } from '../lib/service.ts'
import { type AppOptions, createApp } from './app.ts'

export interface HttpServerOptions extends AppOptions {
  host: string
  port: number
}

const patienceMs = 10_000

export class HttpServer implements Service {
  readonly #options: HttpServerOptions
  readonly #app: FastifyInstance

  constructor(options: HttpServerOptions) {
    this.#options = options
    this.#app = createApp(options)
  }

  /** Where it listens; with port 0, the one that was found. */
  get url(): string {
    const { address, port, family } = this.#app.server.address() as AddressInfo
    const host = family === 'IPv6' ? `[${address}]` : address
    return `${this.#options.tls ? 'https' : 'http'}://${host}:${port}`
  }

  async start(): Promise<void> {
    const { host, port } = this.#options
    try {
      await this.#app.listen({ host, port, backlog: 4_096 })
    } catch (error) {
      const code = (error as { code?: string }).code
      if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw error
      throw new CarillonError(
        'CONFIG_INVALID',
        {
          pointer: '/port',
          message: `cannot listen on ${host}:${port} (${code})`,
          hint: 'Choose another --port or --host',
        },
        { cause: error },
      )
    }
  }

  /** Answers requests under way; clients that neither send nor read are disconnected after a while. */
  async stop(): Promise<void> {
    const { server } = this.#app
    // A connection that was busy just now is kept alive by its client: it is closed as soon as it is idle.
    const sweep = setInterval(() => server.closeIdleConnections(), 50)
    const patience = setTimeout(() => server.closeAllConnections(), patienceMs)
    try {
      await this.#app.close()
    } finally {
      clearInterval(sweep)
      clearTimeout(patience)
    }
  }
}
