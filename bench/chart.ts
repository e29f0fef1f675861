// A line chart as SVG text: one line, its spread as bars, a logarithmic x axis. Nothing but numbers goes in, so the same figures give the
// same picture.

import type { Spread } from './statistics.ts'

export interface Point {
  readonly x: number
  readonly y: Spread
}

const SIZE = { width: 520, height: 240 }
const MARGIN = { left: 60, right: 20, top: 36, bottom: 44 }
const STEPS = 4

export function drawChart(title: string, xTitle: string, yTitle: string, points: readonly Point[]): string {
  const { width, height } = SIZE
  const top = niceAbove(Math.max(...points.map(({ y }) => y.largest)))
  // A first point at 0 stands one step left of the others.
  const place = (x: number) => Math.log10(Math.max(1, x))
  const [first, last] = [place(points[0]?.x ?? 1), place(points.at(-1)?.x ?? 1)]
  const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom }
  const left = (x: number) =>
    (MARGIN.left + ((place(x) - first) / Math.max(1e-9, last - first)) * inner.width).toFixed(1)
  const up = (y: number) => (MARGIN.top + (1 - y / top) * inner.height).toFixed(1)
  const grid = Array.from({ length: STEPS + 1 }, (_, step) => (top / STEPS) * step).flatMap((y) => [
    `<line x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${up(y)}" y2="${up(y)}" stroke="#d0d7de"/>`,
    `<text x="${MARGIN.left - 8}" y="${up(y)}" text-anchor="end" dominant-baseline="middle">${short(y)}</text>`,
  ])
  const marks = points.flatMap(({ x, y }) => [
    `<line x1="${left(x)}" x2="${left(x)}" y1="${up(y.smallest)}" y2="${up(y.largest)}" stroke="#1f6feb" stroke-width="2" opacity="0.4"/>`,
    `<circle cx="${left(x)}" cy="${up(y.median)}" r="3.5" fill="#1f6feb"/>`,
    `<text x="${left(x)}" y="${height - MARGIN.bottom + 16}" text-anchor="middle">${short(x)}</text>`,
  ])
  const line = points.map(({ x, y }) => `${left(x)},${up(y.median)}`).join(' ')
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="11" fill="#57606a">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="${MARGIN.left}" y="18" font-size="13" font-weight="600" fill="#1f2328">${title}</text>`,
    ...grid,
    `<polyline points="${line}" fill="none" stroke="#1f6feb" stroke-width="2"/>`,
    ...marks,
    `<text x="${width - MARGIN.right}" y="18" text-anchor="end">${yTitle}</text>`,
    `<text x="${MARGIN.left + inner.width / 2}" y="${height - 8}" text-anchor="middle">${xTitle}</text>`,
    '</svg>',
    '',
  ].join('\n')
}

/** 1, 2 or 5 times a power of ten. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  const step = [1, 2, 5, 10].find((one) => one * power >= value) ?? 10
  return step * power
}

function short(value: number): string {
  if (value >= 1_000_000) return `${Number((value / 1_000_000).toFixed(1))}M`
  if (value >= 10_000) return `${Number((value / 1_000).toFixed(1))}k`
  return Number(value.toFixed(1)).toLocaleString('en-US')
}
