// Shapes that maps draw on a canvas, in a box of 16.

const P = (d: string) => new Path2D(d)

export const GLYPHS = {
  suspect: P('M8 1.2 15.2 14H.8z'),
  bang: P('M8 6v3.6M8 11.6v.2'),
  failed: P('M3 3l10 10M13 3 3 13'),
  left: P('M3 8h10'),
  crash: P('M8 1.6a6.4 6.4 0 1 0 0 12.8 6.4 6.4 0 0 0 0-12.8M3.5 12.5l9-9'),
  paused: P('M5.5 3v10M10.5 3v10'),
  crown: P('M1.5 4.2 4.9 7 8 2l3.1 5 3.4-2.8-1.2 9.3H2.7z'),
  body: P('M4.2 7h7.6a1.6 1.6 0 0 1 1.6 1.6v4.2a1.6 1.6 0 0 1-1.6 1.6H4.2a1.6 1.6 0 0 1-1.6-1.6V8.6A1.6 1.6 0 0 1 4.2 7z'),
  shackle: P('M5 7V5a3 3 0 0 1 6 0v2'),
}
