// The style sheet of Quarry's own web pages, and the project's mark: a pit with steps, as a quarry
// has. Text colors have a contrast of at least 4.5:1 in light and dark mode. At 40rem and less,
// tables and rows are stacked, so that a phone shows them without scrolling to the side.
#pragma once

#include <string_view>

namespace quarry::http {

inline constexpr std::string_view kMark =
    R"(<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><path d="M2 2h5v6h3v5h4V8h3V2h5v20H2z"/></svg>)";

inline constexpr std::string_view kIcon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath "
    "fill='%23b8650f' d='M2 2h5v6h3v5h4V8h3V2h5v20H2z'/%3E%3C/svg%3E";

inline constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--ink:#1d2125;--dim:#59616a;--paper:#fff;--line:#d8dce1;--box:#f5f6f8;
--link:#0b57c2;--mark:#b8650f;--good:#1a7f37;--busy:#8f5200;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--dim:#a3abb3;--paper:#15181b;--line:#363c42;
--box:#1f2429;--link:#8ab8ff;--mark:#f0a860;--good:#5bd07a;--busy:#f0b455;--bad:#ff8f87}}
*{box-sizing:border-box}[hidden]{display:none!important}
body{margin:0;color:var(--ink);background:var(--paper);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header{background:var(--box);border-bottom:1px solid var(--line)}
header nav,header p,main{max-width:66rem;margin:0 auto;padding:0 1rem}
header ol,header p{display:flex;flex-wrap:wrap;align-items:center;min-height:3rem;margin:0;padding:0;list-style:none}
header p{margin:0 auto;padding:0 1rem;font-weight:600}
header li+li::before{content:"/";color:var(--dim);margin:0 .6rem}
header a{display:inline-block;padding:.6rem 0;font-weight:600;text-decoration:none}
header a:hover{text-decoration:underline}
header .end{margin-left:auto;padding-left:1rem}header .end::before{content:none}header .end a{font-weight:400}
.mark{width:1.35rem;height:1.35rem;margin-right:.6rem;fill:var(--mark);vertical-align:-.3rem}
.skip{position:absolute;left:-100vw;padding:.6rem 1rem;background:var(--paper)}.skip:focus{left:0;z-index:1}
main{padding-top:1.5rem;padding-bottom:4rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}h2{font-size:1.15rem;line-height:1.3;margin:2.25rem 0 .5rem}
h1 code{font-size:1.1rem;font-weight:400}
p{margin:.5rem 0}a{color:var(--link)}.lead{font-size:1.1rem;color:var(--dim);margin:0 0 1rem}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
code,pre{font-family:ui-monospace,monospace;font-size:.9rem}
pre,.copy{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;margin:.5rem 0;
white-space:pre-wrap;user-select:all}
.copy{display:inline-block;margin:.3rem 0;padding:.2rem .6rem}.dim,time{color:var(--dim)}
pre.log{max-height:32rem;overflow:auto;user-select:auto}
ul{padding:0;margin:0;list-style:none}
ul>li{padding:.8rem 0;border-top:1px solid var(--line)}ul>li:last-child{border-bottom:1px solid var(--line)}
li p{margin:.15rem 0}li>a,li strong,li h2 a,h3 a{font-weight:600}li h2,h3{font-size:1.05rem;line-height:1.4;margin:0}li h2 .dim{font-size:1rem;font-weight:400}
.when{text-align:right;max-width:22rem}.rows>li{display:grid;grid-template-columns:minmax(18rem,1fr) minmax(0,auto);gap:.2rem 1.5rem;align-items:center}
.rows .copy{overflow-wrap:anywhere}
.chips{display:flex;flex-wrap:wrap;gap:.5rem;margin:.75rem 0}
.chips a{padding:.3rem .8rem;border:1px solid var(--line);border-radius:1.2rem;text-decoration:none}
.chips a:hover{border-color:var(--link)}.chips [aria-current]{background:var(--box);border-color:var(--link)}
.code{font-size:3rem;font-weight:700;color:var(--mark)}
.note{padding:.6rem .8rem;border:1px solid var(--bad);border-left-width:.4rem;border-radius:6px}.note:empty{display:none}
.state{display:inline-block;padding:0 .55rem;border:1px solid;border-radius:1rem;font-size:.85rem;font-weight:700;color:var(--dim)}
.running{color:var(--busy)}.landed{color:var(--good)}.failed,.terminated{color:var(--bad)}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.4rem .8rem .4rem 0;border-bottom:1px solid var(--line)}
th,.table td{overflow-wrap:break-word}.table td.long{overflow-wrap:anywhere}thead th{color:var(--dim);font-weight:400}
tbody th{width:9rem;font-weight:600}
dl{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.2rem 1.5rem;max-width:32rem}
dt{color:var(--dim)}dd{margin:0;text-align:right;font-variant-numeric:tabular-nums}
form{display:flex;flex-wrap:wrap;gap:.5rem;margin:1rem 0}label{flex:1 0 100%;max-width:100%}
button,input{font:inherit;min-height:2.5rem;padding:.3rem .9rem;max-width:100%}input{display:block;width:32rem}
ins,del{text-decoration:none}ins{color:var(--good)}del{color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.5rem;margin:1rem 0}
.tiles p{margin:0;padding:.5rem .8rem;background:var(--box);border:1px solid var(--line);border-radius:6px;line-height:1.3}
.tiles b{display:block;font-size:1.5rem;font-variant-numeric:tabular-nums}
.grid{display:block;max-width:100%;height:auto}.legend span{margin-right:1rem}.legend b{font-weight:400}
.idle,.finished{fill:var(--line);color:var(--line)}.starting{fill:var(--dim);color:var(--dim)}
.accepted,.reading{fill:var(--link);color:var(--link)}
.working{fill:var(--busy);color:var(--busy)}.sending{fill:var(--good);color:var(--good)}
.old{stroke:var(--bad);stroke-width:2}
.chart{display:grid;grid-template-columns:4.2rem minmax(0,1fr);gap:.2rem .6rem;font-size:.85rem;color:var(--dim)}
.chart svg{display:block;width:100%;height:8rem;border-bottom:1px solid var(--dim)}
.chart .high{display:flex;flex-direction:column;justify-content:space-between;text-align:right;line-height:1}
.chart .ages{grid-column:2;display:flex;justify-content:space-between}
.chart line{stroke:var(--line);vector-effect:non-scaling-stroke}
polyline{fill:none;stroke:var(--link);stroke-width:2;vector-effect:non-scaling-stroke}
.line1{stroke:var(--busy);stroke-dasharray:5 3}.key0{color:var(--link)}.key1{color:var(--busy)}
.bars th{width:8rem;font-weight:400}.bars td:last-child{width:5rem;text-align:right}
.bars svg{display:block;width:100%;height:1.1rem}.bar{fill:var(--link)}
.stale .tiles,.stale svg{opacity:.5}
@media(max-width:40rem){
main{padding-top:1rem}h1{font-size:1.4rem}.rows>li{display:block}.when{text-align:left}.chart{grid-template-columns:3.2rem minmax(0,1fr)}
.table,.table tbody,.table tr{display:block}.table thead{display:block;position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.table tr{padding:.4rem 0;border-bottom:1px solid var(--line)}
.table td{display:grid;grid-template-columns:6rem minmax(0,1fr);padding:.1rem 0;border:0}.table td:empty{display:none}
.table td::before{content:attr(data-name);color:var(--dim)}
.bars th{width:6rem}.bars td:last-child{width:3.5rem}tbody th{width:6.5rem}
}
)css";

}  // namespace quarry::http
