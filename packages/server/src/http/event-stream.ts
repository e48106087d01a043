/** Server-sent events, for browsers (`EventSource`) and every program that reads lines. */

export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Proxies that gather answers would keep events back.
  'x-accel-buffering': 'no',
}

/** How long a browser waits before it comes back: the first thing that a stream says. */
export const comeBackText = 'retry: 1000\n\n'
