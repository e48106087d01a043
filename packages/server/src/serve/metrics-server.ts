/**
 * Metrics on a port of their own, for Prometheus and nothing else: plain HTTP, no tokens, every label. Who reaches the address sees the
 * names of tenants, pools and handlers, and no more than that.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CarillonError } from '@carillon/contract'
import { metricsHeaders } from '../http/routes/system/metrics.ts'
import type { Service } from '../lib/service.ts'
import type { Metrics } from '../observability/metrics.ts'

export interface MetricsServerOptions {
  host: string
  port: number
  metrics: Metrics
}

export class MetricsServer implements Service {
  readonly #options: MetricsServerOptions
  readonly #server: Server

  constructor(options: MetricsServerOptions) {
    this.#options = options
    this.#server = createServer({ requestTimeout: 10_000 }, async (request, response) => {
      const path = request.url?.split('?')[0]
      if (request.method !== 'GET' || (path !== '/metrics' && path !== '/healthz')) {
        response.writeHead(404).end('There is GET /metrics and GET /healthz here.\n')
      } else if (path === '/healthz') response.writeHead(200).end('ok\n')
      else response.writeHead(200, metricsHeaders).end(await options.metrics.text({ whole: true }))
    })
  }

  /** With port 0, the one that was found. */
  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  async start(): Promise<void> {
    const { host, port } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error: Error & { code?: string }) => {
        const message = `cannot listen on ${host}:${port} (${error.code})`
        const hint = 'Choose another --metrics-port or --metrics-host'
        reject(new CarillonError('CONFIG_INVALID', { pointer: '/metricsPort', message, hint }, { cause: error }))
      })
      this.#server.listen(port, host, () => resolve())
    })
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }
}
