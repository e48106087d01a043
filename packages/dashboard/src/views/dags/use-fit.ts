/** Shows the whole graph at first, and again when it or its room has another size, until the reader has moved it. */
import { useReactFlow } from '@xyflow/react'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Layout } from './layout.ts'

const margin = 20
const heights = { least: 120, most: 520 }

export function useFit({ width, height }: Layout) {
  const place = useRef<HTMLDivElement>(null)
  const flow = useReactFlow()
  const [room, setRoom] = useState(0)
  const [isReady, setIsReady] = useState(false)
  useLayoutEffect(() => {
    const box = place.current!
    const sized = new ResizeObserver(() => setRoom(box.clientWidth))
    sized.observe(box)
    setRoom(box.clientWidth)
    return () => sized.disconnect()
  }, [])
  const zoomOfWidth = Math.min(1, (room - 2 * margin) / width)
  const wanted = Math.round(height * zoomOfWidth + 2 * margin)
  const tall = Math.min(heights.most, Math.max(heights.least, wanted))
  const fit = useCallback(() => {
    if (room === 0) return
    const zoom = Math.min(zoomOfWidth, (tall - 2 * margin) / height)
    void flow.setViewport({ x: (room - width * zoom) / 2, y: (tall - height * zoom) / 2, zoom })
  }, [flow, room, zoomOfWidth, tall, width, height])
  useEffect(() => {
    if (isReady) fit()
  }, [isReady, fit])
  return { place, height: tall, fit, isReady, setReady: useCallback(() => setIsReady(true), []) }
}
