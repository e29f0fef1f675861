// One chart over time: uPlot draws, the legend above it shows the values under the pointer, or the latest.

import { useEffect, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useIsDark } from '../lib/theme.ts'

export interface Series {
  readonly label: string
  readonly values: readonly (number | null)[]
  /** A name from tokens.css, without its dashes. */
  readonly colour: string
}

interface ChartProps {
  readonly title: string
  /** Seconds since 1970. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** Shorter, if `format` is too long for an axis. */
  readonly formatAxis?: (value: number) => string
}

const HEIGHT = 176
/** Steps of an axis of durations, in ms: whole seconds, minutes and hours instead of 1.7 min. */
const DURATION_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
  .concat([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600].map((seconds) => seconds * 1_000))
  .concat([2, 4, 6, 12, 24, 48, 120, 240].map((hours) => hours * 3_600_000))
const colourOf = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()

function timeLabel(seconds: number, step: number): string {
  const text = new Date(seconds * 1_000).toLocaleTimeString('en-GB')
  return step < 60 ? text : text.slice(0, 5)
}

function optionsOf(props: ChartProps, width: number, onHover: (index: number | null) => void): uPlot.Options {
  const grid = { stroke: colourOf('line'), width: 1 }
  const axis = { stroke: colourOf('text-3'), font: `11px ${colourOf('font')}`, grid, ticks: { show: false } }
  return {
    width,
    height: HEIGHT,
    padding: [10, 4, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      sync: { key: 'overview' },
      points: { size: 7, width: 2, fill: colourOf('raised') },
    },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.15)] } },
    series: [
      {},
      ...props.series.map(({ label, colour }, index) => {
        const stroke = colourOf(colour)
        return {
          label,
          stroke,
          width: 1.6,
          spanGaps: true,
          points: { show: false },
          ...(index === 0 && { fill: `${stroke}1c` }),
        }
      }),
    ],
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        gap: 6,
        space: 70,
        values: (_plot, splits, _axis, _space, step) => splits.map((value) => timeLabel(value, step)),
      },
      {
        ...axis,
        size: 52,
        gap: 6,
        space: 36,
        ...(props.formatAxis !== undefined && { incrs: DURATION_STEPS }),
        values: (_plot: uPlot, splits: number[]) =>
          splits.map((value) => (props.formatAxis ?? props.format)(value)),
      },
    ],
    hooks: {
      setCursor: [(plot) => onHover(plot.cursor.idx ?? null)],
    },
  }
}

export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const isDark = useIsDark()
  const [hovered, setHovered] = useState<number | null>(null)
  const data = useMemo(
    () => [[...props.times], ...props.series.map(({ values }) => [...values])] as uPlot.AlignedData,
    [props.times, props.series],
  )
  const latest = useRef({ props, data })
  latest.current = { props, data }

  // biome-ignore lint/correctness/useExhaustiveDependencies: colours are read anew when the theme changes.
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const made = new uPlot(
      optionsOf(latest.current.props, element.clientWidth, setHovered),
      latest.current.data,
      element,
    )
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [isDark])
  useEffect(() => plot.current?.setData(data), [data])

  const at = hovered ?? props.times.length - 1
  const time = props.times[at]
  return (
    <figure className="chart card">
      <figcaption className="chart__head">
        <span className="chart__title">{props.title}</span>
        <span className="chart__legend num">
          {props.series.map(({ label, colour, values }) => (
            <span key={label} className="chart__value">
              <span className="chart__key" style={{ background: `var(--${colour})` }} aria-hidden />
              {label} <strong>{typeof values[at] === 'number' ? props.format(values[at]) : '–'}</strong>
            </span>
          ))}
          <span className="chart__time faint">
            {time === undefined ? '' : new Date(time * 1000).toLocaleTimeString('en-GB')}
          </span>
        </span>
      </figcaption>
      <div ref={place} className="chart__plot" role="img" aria-label={describe(props)} />
    </figure>
  )
}

function describe({ title, series, format }: ChartProps): string {
  const parts = series.map(({ label, values }) => {
    const numbers = values.filter((value) => typeof value === 'number')
    if (numbers.length === 0) return `${label}: nothing yet`
    return `${label}: now ${format(numbers.at(-1) ?? 0)}, at most ${format(Math.max(...numbers))}`
  })
  return `${title}. ${parts.join('. ')}`
}
