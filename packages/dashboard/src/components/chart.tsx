/** A chart over time by uPlot, in the colours of the theme, with its figures as a text for those who hear it. */
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { clockTime } from '../lib/time.ts'
import 'uplot/dist/uPlot.min.css'

export interface Series {
  name: string
  /** A colour of the theme. */
  colour: 'accent' | 'good' | 'busy' | 'wait' | 'warn' | 'bad' | 'soft'
  values: readonly (number | null)[]
  fill?: boolean
}

const height = 160

export function Chart({
  times,
  series,
  format,
  label,
  days = false,
}: {
  /** Seconds since 1970. */
  times: readonly number[]
  series: readonly Series[]
  format: (value: number) => string
  /** Says in words what it shows. */
  label: string
  /** The times are days of UTC, and each has a bar. */
  days?: boolean
}) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const shape = series.map(({ name, colour, fill }) => `${name} ${colour} ${fill}`).join()
  const theme = document.documentElement.dataset.theme
  const data = [times, ...series.map(({ values }) => values)] as uPlot.AlignedData
  const latest = useRef({ data, format, series })
  latest.current = { data, format, series }

  // Drawn anew only if what it shows has another shape.
  useEffect(() => {
    const box = place.current!
    const colour = (name: string) => resolved(box, `var(--${name})`)
    const grid = { stroke: colour('line'), width: 1 }
    const axis = { stroke: colour('soft'), grid, ticks: grid, font: '12px ui-sans-serif, system-ui, sans-serif' }
    const drawn = new uPlot(
      {
        width: box.clientWidth,
        height,
        ...(days && { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') }),
        cursor: { y: false },
        legend: { show: true, live: true },
        axes: [
          {
            ...axis,
            values: (_, ticks) => ticks.map(days ? dayAndMonth : hourAndMinute),
            ...(days && { incrs: dayCounts }),
          },
          { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => latest.current.format(tick)) },
        ],
        scales: {
          ...(days && { x: { range: withHalfDays } }),
          y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.05] },
        },
        series: [
          { label: days ? 'Day' : 'Time', value: days ? '{YYYY}-{MM}-{DD}' : '{YYYY}-{MM}-{DD} {HH}:{mm}' },
          ...latest.current.series.map(({ name, colour: of, fill }) => ({
            label: name,
            stroke: colour(of),
            width: 1.5,
            points: { show: false, filter: alone },
            ...(days && { paths: uPlot.paths.bars!({ size: [0.7, 40] }) }),
            ...(fill && { fill: `color-mix(in srgb, ${colour(of)} 18%, transparent)` }),
            value: (_: uPlot, value: number | null) => (value === null ? '–' : latest.current.format(value)),
          })),
        ],
      },
      latest.current.data,
      box,
    )
    plot.current = drawn
    const sized = new ResizeObserver(() => drawn.setSize({ width: box.clientWidth, height }))
    sized.observe(box)
    return () => {
      sized.disconnect()
      drawn.destroy()
      plot.current = null
    }
  }, [shape, theme, days])

  useEffect(() => plot.current?.setData(latest.current.data), [times, series])

  return (
    <figure className="m-0 min-w-0 overflow-hidden px-2 pb-2">
      <div ref={place} aria-hidden="true" className="min-w-0" />
      <figcaption className="sr-only">{label}</figcaption>
    </figure>
  )
}

/** Figures between two gaps: no line leads to them, so each is drawn as a dot. */
function alone({ data }: uPlot, series: number): number[] {
  const values = data[series]!
  const isGap = (at: number) => values[at] === null || values[at] === undefined
  return [...values.keys()].filter((at) => !isGap(at) && isGap(at - 1) && isGap(at + 1))
}

function hourAndMinute(seconds: number): string {
  return clockTime(new Date(seconds * 1_000), { seconds: false, date: false })
}

function dayAndMonth(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(5, 10)
}

const daySec = 86_400
const dayCounts = [1, 2, 3, 7, 14, 28, 56, 112].map((days) => days * daySec)

/** Room for the bars of the first and the last day. */
function withHalfDays(_: uPlot, from: number, to: number): [number, number] {
  return [from - daySec / 2, to + daySec / 2]
}

/** A canvas needs the colour itself, not the name that the theme has for it. */
function resolved(place: HTMLElement, colour: string): string {
  const probe = place.appendChild(document.createElement('span'))
  probe.style.color = colour
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
