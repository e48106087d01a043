/** The requests that load is made of, as text. Everything in them is ASCII, so their length is that of their bytes. */
export interface RequestOptions {
  method: 'GET' | 'POST'
  path: string
  host: string
  token: string
  headers?: Record<string, string>
  body?: object
}

export function requestText({ method, path, host, token, headers = {}, body }: RequestOptions): string {
  const text = body === undefined ? '' : JSON.stringify(body)
  const fields = {
    host,
    authorization: `Bearer ${token}`,
    ...headers,
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(text.length) }),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}

export function anyOf<T>(items: readonly T[]): T {
  return items[Math.floor(Math.random() * items.length)]!
}
