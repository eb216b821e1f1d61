/**
 * The page's style. Colour has four meanings only: incremental (blue-green), computed as a whole (orange), behind
 * (amber) and failed (red); everything else is ink on paper. Shapes and words say the same.
 */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf8; --raised: #ffffff; --ink: #1b1d20; --ink-2: #50545b; --ink-3: #686c74;
  --line: #e5e3de; --line-2: #cbc8c1; --wash: #f2f0ec;
  --inc: #0b7285; --inc-soft: #d5ecef; --full: #b8500a; --full-soft: #fbe6d6; --init: #9a9da4;
  --stale: #8a5a00; --stale-mark: #d99a00; --fail: #c2272d; --fresh: #2f7d4f;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --sans: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #131416; --raised: #1a1c1f; --ink: #ecebe8; --ink-2: #b4b7bc; --ink-3: #999da4;
    --line: #2a2c30; --line-2: #45484e; --wash: #1f2124;
    --inc: #4fc3d7; --inc-soft: #16363c; --full: #f0994f; --full-soft: #40291a; --init: #7b7f87;
    --stale: #e6b450; --stale-mark: #e6b450; --fail: #ff8078; --fresh: #62c48c;
  }
}
@media print { :root { color-scheme: light; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; scroll-padding-top: 16px; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 var(--sans); font-variant-numeric: tabular-nums; }
.top, main, footer { max-width: 1120px; margin: 0 auto; padding: 0 32px; }
a { color: inherit; text-decoration: underline; text-decoration-color: var(--line-2); text-underline-offset: 3px; }
a:hover { text-decoration-color: currentColor; }
:focus-visible { outline: 2px solid var(--inc); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
h1, h2, h3, p, ul, ol, dl, dd, figure { margin: 0; padding: 0; }
ul, ol { list-style: none; }
h1 { font-size: 32px; line-height: 1.2; font-weight: 640; letter-spacing: -0.022em; text-wrap: balance; }
h2 { font-size: 18px; line-height: 1.3; font-weight: 640; letter-spacing: -0.01em; }
h3 { font-size: 13px; font-weight: 640; color: var(--ink-2); margin: 0 0 10px; }
code, pre, .name { font-family: var(--mono); font-size: 0.92em; }
.name { overflow-wrap: anywhere; unicode-bidi: isolate; }
.quiet { color: var(--ink-3); font-size: 13px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -999px; top: 8px; background: var(--raised); padding: 8px 12px; z-index: 3; }
.skip:focus { left: 8px; }

.top { display: flex; align-items: baseline; gap: 8px 28px; flex-wrap: wrap; padding-top: 22px; padding-bottom: 22px; font-size: 13px; }
.lake-name { font-weight: 640; margin-right: auto; }
.top nav { display: flex; flex-wrap: wrap; gap: 6px 20px; }
.top nav a { color: var(--ink-2); text-decoration: none; }
.top nav a:hover { color: var(--ink); text-decoration: underline; }
.live { color: var(--fresh); }
.live::before { content: "● "; font-size: 9px; vertical-align: 1px; }
.live.lost { color: var(--stale); }
main { padding-top: 26px; }
.as-of { color: var(--ink-2); margin-top: 10px; }

.numbers { display: grid; grid-template-columns: repeat(4, 1fr); margin-top: 34px; border-top: 1px solid var(--line-2); }
.numbers > div { padding: 14px 20px 4px; border-left: 1px solid var(--line); }
.numbers > div:first-child { border-left: 0; padding-left: 0; }
.numbers dt { font-size: 13px; color: var(--ink-2); }
.numbers dd { display: flex; flex-direction: column; }
.numbers .value { font-size: 25px; line-height: 1.35; font-weight: 560; letter-spacing: -0.02em; }
.numbers .of { color: var(--ink-3); font-weight: 400; }
.numbers .quiet { line-height: 1.35; }

.all-well { margin-top: 30px; padding-top: 14px; border-top: 1px solid var(--line); color: var(--ink-2); }
.findings { margin-top: 44px; }
.findings ol { margin-top: 10px; border-bottom: 1px solid var(--line); }
.findings li { display: grid; grid-template-columns: 10px 1fr; gap: 13px; padding: 13px 0 14px; border-top: 1px solid var(--line); }
.findings .icon { margin-top: 6px; }
.findings li > div { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 2px 24px; align-items: start; min-width: 0; }
.findings .title { font-weight: 560; }
.findings .title a { text-decoration-color: var(--line-2); }
.findings .text { grid-column: 1; color: var(--ink-2); max-width: 74ch; overflow-wrap: anywhere; }
.findings .command { grid-column: 2; grid-row: 1 / span 2; max-width: 330px; }
.findings .command code { display: block; padding: 3px 9px; background: var(--wash); border-radius: 5px; overflow-wrap: anywhere; user-select: all; }
.findings .more summary { padding: 10px 0; color: var(--ink-2); cursor: pointer; }

.part { margin-top: 64px; }
.part > header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 14px; margin-bottom: 18px; }
.part h3 { margin-top: 30px; }
.below { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 6px 24px; margin-top: 12px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; color: var(--ink-2); }
.legend li { display: flex; align-items: center; gap: 7px; }
.swatch { width: 10px; height: 10px; border-radius: 2px; }
.swatch.incremental { background: var(--inc); } .swatch.recompute { background: var(--full); }
.swatch.initial { background: var(--init); } .swatch.failed { background: var(--fail); }
.swatch.base { background: var(--line-2); } .swatch.segment { background: var(--inc); } .swatch.kept { background: var(--line-2); }
.dot { width: 10px; height: 10px; border-radius: 50%; background: var(--inc); }
.dot.full { background: transparent; border: 2px solid var(--full); }
.dash { width: 16px; border-top: 2px dashed var(--full); }
.reader { width: 0; height: 12px; border-left: 2px solid var(--ink); }
.tally { width: 0; height: 12px; border-left: 2px solid var(--ink-2); }

.glyph { fill: none; stroke-width: 1.8; }
.glyph.fresh { fill: var(--fresh); }
.glyph.pending { stroke: var(--ink-3); }
.glyph.rebuild { fill: var(--stale-mark); }
.glyph.failed { stroke: var(--fail); stroke-width: 2.2; stroke-linecap: round; }
.glyph.stale .ring { stroke: var(--stale-mark); } .glyph.stale .solid { fill: var(--stale-mark); stroke: none; }
.icon { flex: none; overflow: visible; }
.health.stale, .health.rebuild { color: var(--stale); } .health.failed, strong.failed { color: var(--fail); font-weight: 560; }
.health.fresh { color: var(--ink-2); } .health.pending { color: var(--ink-2); }
.kind.recompute { color: var(--full); } .kind.failed { color: var(--fail); } .kind.incremental { color: var(--inc); } .kind.initial { color: var(--ink-2); }

.graph { overflow: auto; max-height: 78vh; background: var(--raised); border: 1px solid var(--line); border-radius: 10px; }
.graph svg { display: block; margin: 0 auto; }
.graph a { text-decoration: none; }
.edge { fill: none; stroke: var(--line-2); stroke-width: 1.4; }
.edge.changed { stroke: var(--stale-mark); stroke-dasharray: 5 4; }
.edge.tied { stroke: var(--ink); stroke-width: 2; }
.node rect { fill: var(--raised); stroke: var(--line-2); }
.node.table rect { fill: var(--wash); stroke: transparent; }
.node.failed rect { stroke: var(--fail); } .node.stale rect, .node.rebuild rect { stroke: var(--stale-mark); }
.node.view:hover rect, .node.view:focus-visible rect { stroke: var(--ink); stroke-width: 1.6; }
.node.view:focus-visible { outline: none; }
.node .label { font: 12px var(--mono); fill: var(--ink); }
.node .note { font: 11px var(--sans); fill: var(--ink-3); }
.node.stale .note, .node.rebuild .note { fill: var(--stale); } .node.failed .note { fill: var(--fail); }

svg { display: block; overflow: visible; }
text.tick { font: 11px var(--sans); fill: var(--ink-3); }
line.tick { stroke: var(--line-2); }
.grid { stroke: var(--line); } .base { stroke: var(--line); }
.lane { display: grid; grid-template-columns: 190px minmax(0, 1fr); gap: 18px; align-items: end; padding: 3px 0; }
.lane.total { padding-bottom: 12px; }
.lane-name { font-size: 13px; line-height: 1.35; min-width: 0; }
.lane-name a { text-decoration: none; } .lane-name a:hover { text-decoration: underline; }
.strip { position: relative; min-width: 0; }
.scale { display: block; height: 16px; font-size: 11px; line-height: 14px; text-align: right; color: var(--ink-3); }
rect.incremental { fill: var(--inc); } rect.recompute { fill: var(--full); } rect.initial { fill: var(--init); } rect.failed { fill: var(--fail); }
[data-tip]:hover rect { filter: brightness(1.15); }

.cost { display: grid; grid-template-columns: 190px minmax(0, 1fr) 110px; gap: 18px; align-items: center; padding: 3px 0; font-size: 13px; }
.cost-name { min-width: 0; line-height: 1.35; } .cost-name a { text-decoration: none; } .cost-name a:hover { text-decoration: underline; }
.ratio { text-align: right; } .ratio b { font-weight: 600; color: var(--inc); } .ratio b.loss { color: var(--full); }
.track { stroke: var(--line); } line.gain { stroke: var(--inc); stroke-width: 2; opacity: .45; } line.loss { stroke: var(--full); stroke-width: 2; opacity: .55; }
circle.incremental { fill: var(--inc); stroke: var(--paper); stroke-width: 1; }
circle.full { fill: var(--paper); stroke: var(--full); stroke-width: 2; }
.plot .whole { stroke: var(--full); stroke-dasharray: 4 4; stroke-width: 1.2; opacity: .8; }
.cross { fill: var(--fail); font: 700 15px var(--sans); }
.ends { display: flex; justify-content: space-between; font-size: 11px; color: var(--ink-3); min-height: 16px; }

.filter { display: flex; align-items: center; gap: 12px; margin-bottom: 14px; font-size: 13px; }
.filter label { color: var(--ink-2); }
.filter input { flex: 0 1 320px; min-width: 0; padding: 6px 10px; font: inherit; color: var(--ink); background: var(--raised); border: 1px solid var(--line-2); border-radius: 6px; }
.filter input::placeholder { color: var(--ink-3); }
.views { border-top: 1px solid var(--line); }
details.view { border-bottom: 1px solid var(--line); content-visibility: auto; contain-intrinsic-size: auto 44px; }
details.view > summary { display: grid; grid-template-columns: minmax(0, 2.2fr) 1.3fr 1fr 1fr 1.5fr 14px; gap: 4px 16px; align-items: baseline; padding: 11px 0; cursor: pointer; list-style: none; font-size: 13px; }
details.view > summary::-webkit-details-marker { display: none; }
details.view > summary::after { content: "+"; color: var(--ink-3); text-align: right; }
details.view[open] > summary::after { content: "–"; }
details.view > summary:hover { background: linear-gradient(90deg, transparent, var(--wash) 4%, var(--wash) 96%, transparent); }
.view-name { display: flex; gap: 10px; align-items: baseline; font-size: 15px; min-width: 0; }
.view-rows, .view-last { color: var(--ink-2); }
.view-rows { text-align: right; }
.view-body { display: grid; grid-template-columns: minmax(0, 1.1fr) minmax(0, 1fr); gap: 30px 48px; padding: 14px 0 34px 20px; }
.view-body > div { display: grid; grid-template-columns: minmax(0, 1fr); gap: 30px; align-content: start; min-width: 0; }
.view-body .wide { grid-column: 1 / -1; }
.view-body h3 { margin-top: 0; }
.view-body .quiet { margin-top: 8px; }

.tree, .tree ul { position: relative; }
.tree ul { margin-left: 6px; padding-left: 18px; border-left: 1px solid var(--line-2); }
.tree ul > li { position: relative; }
.tree ul > li::before { content: ""; position: absolute; left: -18px; top: 14px; width: 11px; border-top: 1px solid var(--line-2); }
.tree ul > li:last-child::after { content: ""; position: absolute; left: -19px; top: 15px; bottom: 0; width: 1px; background: var(--paper); }
.step { padding: 4px 0; }
.operator { font-weight: 560; font-size: 14px; }
.rule { font-size: 12px; color: var(--inc); margin-left: 4px; } .rule.dear { color: var(--full); }
.detail { display: block; color: var(--ink-2); font-size: 12px; line-height: 1.45; overflow-wrap: anywhere; }
.reasons { margin-bottom: 10px; } .reasons li { padding: 6px 12px; margin-top: 6px; background: var(--full-soft); border-radius: 6px; font-size: 14px; }
.reasons .quiet { color: var(--ink-2); }
.advice li { padding: 10px 0; border-top: 1px solid var(--line); font-size: 14px; overflow-wrap: anywhere; }
.advice li:first-child { border-top: 0; padding-top: 0; } .advice p { max-width: 88ch; } .advice .rewrite { margin-top: 4px; color: var(--ink); } .advice strong { font-weight: 560; }
.warnings { margin-top: 10px; } .warnings li { padding: 2px 12px; margin-top: 6px; border-left: 3px solid var(--full); font-size: 14px; } .warnings .quiet { color: var(--ink-2); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { text-align: left; font-weight: 500; color: var(--ink-3); white-space: nowrap; }
th, td { padding: 6px 20px 6px 0; border-bottom: 1px solid var(--line); vertical-align: baseline; }
time { white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; white-space: nowrap; }
.why { display: block; color: var(--ink-2); overflow-wrap: anywhere; max-width: 46ch; }
pre { margin: 0; padding: 14px 16px; background: var(--wash); border-radius: 8px; overflow-x: auto; font-size: 13px; line-height: 1.5; tab-size: 2; }
pre code { font-size: inherit; }
.columns { display: flex; flex-wrap: wrap; gap: 4px 18px; margin-top: 12px; font-size: 13px; }

.logs { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 26px 48px; margin-top: 22px; }
.log figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 14px; margin-bottom: 8px; font-size: 13px; }
.log figcaption a { text-decoration: none; } .log figcaption a:hover { text-decoration: underline; }
.layout .base { fill: var(--line-2); stroke: none; }
.layout .segment { fill: var(--inc); } .layout .empty { fill: var(--line-2); opacity: .7; }
line.reader { stroke: var(--ink); stroke-width: 1.5; } circle.reader { fill: var(--ink); }
.retention { margin: 18px 0 10px; }
rect.kept { fill: var(--line-2); } line.cursor { stroke: var(--ink-2); stroke-width: 1.5; }
#retention .scroll { margin-top: 22px; }
footer { padding-top: 64px; padding-bottom: 40px; }
.tip { position: fixed; z-index: 2; max-width: min(340px, calc(100vw - 16px)); padding: 5px 10px; background: var(--ink); color: var(--paper); border-radius: 6px; font-size: 12px; line-height: 1.4; pointer-events: none; }

@media (max-width: 760px) {
  .top, main, footer { padding-left: 18px; padding-right: 18px; }
  .lake-name { flex-basis: 100%; }
  main { padding-top: 10px; }
  h1 { font-size: 26px; }
  .numbers { grid-template-columns: 1fr 1fr; }
  .numbers > div { padding: 12px 12px 8px; }
  .numbers > div:nth-child(odd) { border-left: 0; padding-left: 0; }
  .numbers > div:nth-child(n + 3) { border-top: 1px solid var(--line); }
  .numbers .value { font-size: 21px; }
  .findings li > div { grid-template-columns: minmax(0, 1fr); }
  .findings .command { grid-column: 1; grid-row: auto; max-width: none; margin-top: 6px; }
  .part { margin-top: 52px; }
  .lane { grid-template-columns: minmax(0, 1fr); gap: 1px; padding: 5px 0; }
  .cost { grid-template-columns: minmax(0, 1fr) auto; gap: 0 12px; padding: 6px 0; }
  .cost .dumbbell, .cost .axis { grid-column: 1 / -1; grid-row: 2; }
  details.view > summary { grid-template-columns: minmax(0, 1fr) auto 14px; gap: 1px 12px; }
  details.view > summary::after { grid-column: 3; grid-row: 1; }
  .view-name { grid-column: 1; grid-row: 1; } .view-strategy { grid-column: 2; grid-row: 1; }
  .view-state { grid-column: 1; grid-row: 2; padding-left: 20px; } .view-rows { grid-column: 2; grid-row: 2; } .view-last { display: none; }
  .view-body { grid-template-columns: minmax(0, 1fr); padding-left: 0; gap: 26px; }
  .logs { grid-template-columns: minmax(0, 1fr); }
  .scroll table { min-width: 540px; }
}
@media print {
  body { background: #fff; font-size: 11px; }
  .top nav, .filter, .skip, .live, .tip { display: none; }
  .top, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  .part { margin-top: 32px; }
  .graph { max-height: none; overflow: visible; border: 0; } .graph svg { max-width: 100%; height: auto; }
  .findings li, .log, .cost, .lane, .view-body section, tr { break-inside: avoid; }
  pre { white-space: pre-wrap; } h2, h3 { break-after: avoid; }
  details.view { content-visibility: visible; }
  svg * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } .swatch, .dot { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`;
