import * as core from 'echarts/core';
import { BarChart, LineChart, ScatterChart, CustomChart } from 'echarts/charts';
import { GridComponent, TooltipComponent, TitleComponent, LegendComponent, MarkLineComponent, GraphicComponent } from 'echarts/components';
import { SVGRenderer } from 'echarts/renderers';
core.use([BarChart, LineChart, ScatterChart, CustomChart, GridComponent, TooltipComponent, TitleComponent, LegendComponent, MarkLineComponent, GraphicComponent, SVGRenderer]);
export const init = core.init;
export const version = core.version;
